"""The pages: what each looks at, and what its forms do."""

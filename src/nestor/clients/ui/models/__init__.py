"""What the pages show, made from objects of the API. Pure."""

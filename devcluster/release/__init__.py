"""The files of a release. Images of other processors, signatures and publishing are `.github/workflows/release.yml`'s."""

"""The files of a run: written so that a kill leaves them readable."""

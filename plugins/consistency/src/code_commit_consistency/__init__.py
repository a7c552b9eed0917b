"""The consistency report: does a project do what its user specification says?"""

__version__ = "0.1.0"

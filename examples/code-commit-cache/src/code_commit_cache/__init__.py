"""Answers from a folder what a model was asked before."""

def is_balanced(text: str) -> bool:
    raise NotImplementedError

def groups(words: list[str]) -> list[list[str]]:
    raise NotImplementedError

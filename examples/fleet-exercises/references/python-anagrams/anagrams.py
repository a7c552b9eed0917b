def groups(words: list[str]) -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault("".join(sorted(word)), []).append(word)
    return list(found.values())

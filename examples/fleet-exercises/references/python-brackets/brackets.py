CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def is_balanced(text: str) -> bool:
    waiting: list[str] = []
    for letter in text:
        if letter in CLOSED_BY:
            waiting.append(CLOSED_BY[letter])
        elif letter in CLOSED_BY.values() and (not waiting or waiting.pop() != letter):
            return False
    return not waiting

import unittest

from runs import decode, encode


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(encode("aaab"), [("a", 3), ("b", 1)])

    def test_2(self):
        self.assertEqual(encode(""), [])

    def test_3(self):
        self.assertEqual(decode([("x", 2), ("y", 1)]), "xxy")

    def test_4(self):
        self.assertEqual(decode(encode("abba")), "abba")

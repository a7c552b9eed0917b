import unittest

from brackets import is_balanced


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(is_balanced("a(b[c]{d})"), True)

    def test_2(self):
        self.assertEqual(is_balanced("(]"), False)

    def test_3(self):
        self.assertEqual(is_balanced("("), False)

    def test_4(self):
        self.assertEqual(is_balanced(""), True)

    def test_5(self):
        self.assertEqual(is_balanced(")("), False)

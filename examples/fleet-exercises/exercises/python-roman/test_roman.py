import unittest

from roman import to_roman


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(to_roman(1), "I")

    def test_2(self):
        self.assertEqual(to_roman(4), "IV")

    def test_3(self):
        self.assertEqual(to_roman(1994), "MCMXCIV")

    def test_4(self):
        self.assertEqual(to_roman(3999), "MMMCMXCIX")

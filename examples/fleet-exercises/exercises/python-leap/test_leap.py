import unittest

from leap import is_leap


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(is_leap(2024), True)

    def test_2(self):
        self.assertEqual(is_leap(1900), False)

    def test_3(self):
        self.assertEqual(is_leap(2000), True)

    def test_4(self):
        self.assertEqual(is_leap(2023), False)

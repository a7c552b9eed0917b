import unittest

from factors import prime_factors


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(prime_factors(1), [])

    def test_2(self):
        self.assertEqual(prime_factors(12), [2, 2, 3])

    def test_3(self):
        self.assertEqual(prime_factors(97), [97])

    def test_4(self):
        self.assertEqual(prime_factors(999983 * 2), [2, 999983])

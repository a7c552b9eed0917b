import unittest

from matrix import transpose


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(transpose([[1, 2], [3, 4]]), [[1, 3], [2, 4]])

    def test_2(self):
        self.assertEqual(transpose([[1], [2, 3]]), [[1, 2], [None, 3]])

    def test_3(self):
        self.assertEqual(transpose([]), [])

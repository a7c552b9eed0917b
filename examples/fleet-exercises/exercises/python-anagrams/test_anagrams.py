import unittest

from anagrams import groups


class Tests(unittest.TestCase):
    def test_1(self):
        self.assertEqual(
            groups(["tea", "ate", "tan", "nat", "x"]), [["tea", "ate"], ["tan", "nat"], ["x"]]
        )

    def test_2(self):
        self.assertEqual(groups([]), [])

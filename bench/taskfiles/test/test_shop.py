import unittest

import shop


class Shop(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(shop.bill([]), 0)

    def test_one(self):
        self.assertEqual(shop.bill([5]), 5)

    def test_several(self):
        self.assertEqual(shop.bill([5, 6, 7]), 18)

    def test_below_the_limit(self):
        self.assertEqual(shop.bill([99]), 99)

    def test_at_the_limit(self):
        self.assertEqual(shop.bill([60, 40]), 90)

    def test_above_the_limit(self):
        self.assertEqual(shop.bill([200]), 180)

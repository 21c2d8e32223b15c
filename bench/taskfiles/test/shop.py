"""Prices of a shop."""

LIMIT = 100
DISCOUNT = 10


def total(prices):
    return sum(prices)


def discount(amount):
    """Orders of LIMIT and more are cheaper."""
    if amount > LIMIT:
        return amount * DISCOUNT // 100
    return 0


def bill(prices):
    amount = total(prices)
    return amount - discount(amount)

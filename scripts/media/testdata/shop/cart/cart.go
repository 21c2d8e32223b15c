// Package cart adds up what a customer buys.
package cart

// An Item is a product in the cart.
type Item struct {
	Name     string
	Price    int // in cents
	Quantity int
}

// Total returns the price of all items.
func Total(items []Item) int {
	sum := 0
	for _, item := range items {
		sum += item.Price
	}
	return sum
}

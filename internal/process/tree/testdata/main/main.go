// Command main does nothing.
package main

func main() {}

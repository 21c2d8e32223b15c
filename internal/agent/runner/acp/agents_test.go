package acp_test

// agents are those that the tests write, by name.
var agents = map[string]func() error{"puppet": puppet}

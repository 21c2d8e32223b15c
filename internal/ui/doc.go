// Package ui is the wing of all that people, scripts and models use: the command
// line (cli, with the dialects k and agenttty), the dashboards in the terminal
// and in the browser, and the MCP servers. It has no code of its own.
//
// Its packages may import every wing. Begin with cli.Main.
package ui

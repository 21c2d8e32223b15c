// Package harness connects an agent that is driven by a protocol to channels
// and to people: it turns mentions into prompts and answers into messages,
// serves the agent's socket, watches over its turns and shows the conversation
// on its terminal.
//
// One process runs one harness, as the program of a session. Everything that
// must survive it is in its state directory.
package harness

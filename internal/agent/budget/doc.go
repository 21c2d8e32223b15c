// Package budget limits what an agent uses within an hour and a day.
//
// Use is counted in buckets of five minutes. A bucket counts until all of it
// has left the window, so the ledger never counts less than was used in the
// last hour or day, and at most five minutes more.
package budget

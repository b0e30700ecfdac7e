// Package wire is what passes between the daemon and its plugins: the interfaces at the level of batches ([Source], [Assigner],
// [Transform], [Sink], and [Plugin], which opens them), and both halves that carry them over gRPC ([Client] in the daemon, [Server] in the
// plugin).
//
// The interfaces are the same on both sides and without any side: a plugin inside the daemon, one behind a socket, and one in a test are
// called alike. The protocol itself is documented in sdk/proto; any language can speak it. What this package adds is speed: batches are
// written by hand, as lists of pointers to where the vectors lie, and read with one copy to where they stay, in pooled memory. No
// Where daemon and plugin have memory in common ([Shared], on Linux) a large message lies there, and the stream only says where. No
// allocation, call or lock depends on the number of rows. Everything received is checked ([Client] and [Server] hold it against the
// contract), so that the code behind can rely on it.
//
// Flow control is by credit: a source sends [Credits] batches ahead, and no more than so many calls of the others are unanswered. That bounds
// memory, and it is why sent memory can be used again without being told: an answer, or a credit, proves that it has arrived.
package wire

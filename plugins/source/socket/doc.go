// Package socket is the source that reads records from connections: as a client that connects and connects again for ever, or as a
// listener; over TCP, with or without TLS, Unix sockets, or UDP.
//
// Each accepted connection is a partition of its own that ends with it. A client's server is one partition over all
// connections. What one connection has sent never mixes with what another one sends. A peer that closes its connection ends its
// last record, with or without a line end; one that is cut by a connection that breaks (a reset, a timeout) is rejected as partial. A peer
// that was killed seems to close in order, too, and half a number is a number: with unfinished = "reject" every record without a line end
// is rejected.
//
// Nothing is read that the pipeline cannot take, so a slow pipeline holds back its peers (TCP and Unix sockets; datagrams that come
// meanwhile are lost by nature, which is what the receive buffer is for). The bytes are gone once they are read: positions are
// empty, and the daemon's journal stands in for reading again.
package socket

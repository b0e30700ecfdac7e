package sdk

import (
	"fmt"
	"net"
	"strconv"
)

// CheckHostPort says what is wrong with an address of the form host:port, for options that are addresses. The port is a number up to
// 65535, or the name of a service; 0, which lets the system choose one, is for listening only. It asks no name server.
func CheckHostPort(address string, listens bool) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("%q has no port; write \"host:port\"", address)
	}
	n, err := strconv.ParseUint(port, 10, 64)
	if err != nil {
		if _, err := net.LookupPort("tcp", port); err != nil { // the system's list of services
			return fmt.Errorf("%q: the port %q is no number, and no service has that name", address, port)
		}
		return nil
	}
	switch {
	case n > 65535:
		return fmt.Errorf("%q: there is no port %d; ports are 1 to 65535", address, n)
	case n == 0 && !listens:
		return fmt.Errorf("%q: one can listen on port 0, but not connect to it", address)
	}
	return nil
}

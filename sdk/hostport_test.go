package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckHostPort(t *testing.T) {
	for _, address := range []string{"localhost:9999", ":1", "[::1]:65535", "10.0.0.1:08080"} {
		require.NoError(t, CheckHostPort(address, false), address)
	}
	require.NoError(t, CheckHostPort("127.0.0.1:0", true))
	for address, says := range map[string]string{
		"localhost": "has no port", "localhost:": "has no port", "localhost:99999": "there is no port 99999", "localhost:65536": "ports are 1 to 65535",
		"localhost:0": "not connect to it", "localhost:-1": "is no number", "localhost:no-such-service": "no service has that name", "a:b:c": "has no port",
	} {
		require.ErrorContains(t, CheckHostPort(address, false), says, address)
	}
}

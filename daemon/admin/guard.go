package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
)

// open are the pages that need no token: those who ask for them have none, and they say nothing about data.
var open = map[string]bool{"/livez": true, "/healthz": true, "/readyz": true}

// guard decides what may be asked over TCP.
func (s *Server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.set.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case s.set.Token != "":
			got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
			if !(asks && open[r.URL.Path]) && subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, http.StatusUnauthorized, api.Forbidden, "this address needs the token of [admin]: Authorization: Bearer …")
				return
			}
		case !asks:
			refuse(w, http.StatusForbidden, api.Forbidden, "this address has no token, so it changes nothing; ask through the Unix socket, or set [admin] token")
			return
		case strings.HasSuffix(r.URL.Path, "/tap"):
			refuse(w, http.StatusForbidden, api.Forbidden, "this address has no token, so it does not show data; ask through the Unix socket, or set [admin] token")
			return
		case !plainHost(r.Host, s.set.Address):
			// A web page whose name suddenly leads to this machine would otherwise read everything through the user's browser.
			refuse(w, http.StatusForbidden, api.Forbidden, "without a token this address only answers to its IP address, to localhost, or to the name in [admin] address")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// plainHost is true for a Host header that no foreign page can bring about.
func plainHost(header, address string) bool {
	host := func(hostport string) string {
		if h, _, err := net.SplitHostPort(hostport); err == nil {
			return h
		}
		return strings.Trim(hostport, "[]")
	}
	h := host(header)
	return h == "" || h == "localhost" || h == host(address) || net.ParseIP(h) != nil
}

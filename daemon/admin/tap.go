package admin

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// mostTapped bounds the rows a second that a tap shows: each is copied on the way of the data.
const mostTapped = 1000

// tap shows rows as they pass, a line of JSON each, until whoever asks goes away.
func (s *Server) tap(w http.ResponseWriter, r *http.Request, p Pipeline) {
	rate := 10
	if text := r.URL.Query().Get("rate"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostTapped {
			refuse(w, http.StatusBadRequest, api.BadInput, "rate is a number of rows a second from 1 to "+strconv.Itoa(mostTapped))
			return
		}
		rate = n
	}
	component := r.URL.Query().Get("component")
	if err := p.CanTap(component); err != nil {
		refuse(w, http.StatusNotFound, api.NotFound, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	_ = out.Flush() // the answer begins now, also where nothing passes
	_ = p.Tap(r.Context(), component, rate, func(row pipeline.TapRow) error {
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
		return out.Flush()
	})
}

package bench

// Ratio compares two contestants round by round, by what one neighbour did to the other in the same minute.
type Ratio struct {
	What   string  `json:"what"`
	Of     string  `json:"of"`      // records a second
	Goal   float64 `json:"goal"`    // 0: none
	Values Spread  `json:"ratio"`   // above 1: the first one is faster
	CPU    Spread  `json:"per_cpu"` // the same in records per CPU second
}

// goals are comparisons that are always of interest, with what is aimed at.
var goals = []struct {
	w1, c1, w2, c2 string
	goal           float64
}{
	{"w2b", "I", "w2b", "limit", 0.75},
	{"w2a", "I", "w2a", "limit", 0},
	{"w3", "I", "w3", "limit", 0},
	{"w2b", "R", "w2b", "I", 0.65},
	{"w2b", "mtls", "w2b", "R", 0},
	{"w10", "R", "w2b", "I", 0.4},
	{"w3", "I", "w2b", "I", 0.25},
	{"w3", "I", "w3", "nocp", 0.7},
	{"w5", "I", "w2b", "I", 0.6},
	{"w6", "I", "w2b", "I", 0},
	{"w9", "I", "w2b", "I", 0.5},
	{"w9", "I", "w2a", "I", 0},
	{"w2b", "onecore", "w2b", "I", 0},
}

// ratios fills in what can be compared: the goals, each contestant against the same one of the other binary, and the program against
// its peers.
func (r *Report) ratios() {
	for _, g := range goals {
		r.ratio(g.w1, g.c1, g.w2, g.c2, g.goal)
	}
	for _, w := range r.Workloads {
		for _, c := range w.Contestants {
			r.ratio(w.Name, c.Name, w.Name, "other "+c.Name, 0)
		}
		for _, ours := range []Mode{InProcess, Processes} {
			for _, name := range r.peers {
				r.ratio(w.Name, string(ours), w.Name, name, 0)
			}
		}
	}
}

func (r *Report) ratio(w1, c1, w2, c2 string, goal float64) {
	first, second := r.find(w1, c1), r.find(w2, c2)
	if first == nil || second == nil {
		return
	}
	n1, n2 := r.records(w1), r.records(w2)
	var speed, cpu []float64
	for _, a := range first.Samples {
		for _, b := range second.Samples {
			if a.Round != b.Round || a.Seconds == 0 || b.Seconds == 0 {
				continue
			}
			speed = append(speed, n1/a.Seconds/(n2/b.Seconds))
			if a.CPUSeconds > 0 && b.CPUSeconds > 0 {
				cpu = append(cpu, n1/a.CPUSeconds/(n2/b.CPUSeconds))
			}
		}
	}
	if len(speed) == 0 {
		return
	}
	what := w1 + " " + c1 + " against " + c2
	if w1 != w2 {
		what = w1 + " " + c1 + " against " + w2 + " " + c2
	}
	r.Ratios = append(r.Ratios, Ratio{What: what, Of: "records/s", Goal: goal, Values: spread(speed), CPU: spread(cpu)})
}

func (r *Report) records(name string) float64 {
	for _, w := range r.Workloads {
		if w.Name == name {
			return float64(w.Records)
		}
	}
	return 0
}

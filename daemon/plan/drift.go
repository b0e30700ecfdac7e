package plan

// driftGroups warns about sources that max_drift keeps together with nobody: the unit of alignment is the source, since its partitions
// come in one stream, and a source alone is never ahead of itself.
func (b *builder) driftGroups() {
	members := map[string]int{}
	for _, s := range b.plan.Sources {
		if s.MaxDrift > 0 {
			members[s.DriftGroup]++
		}
	}
	for i, s := range b.plan.Sources {
		if s.MaxDrift > 0 && members[s.DriftGroup] == 1 {
			c := b.cfg.Sources[i]
			b.warn("TM3105", c.KeyPlace("time", "max_drift"), `give the sources that belong together max_drift and the same drift_group`,
				"max_drift does nothing here: no other source is in the group of %q", s.Name)
		}
	}
}

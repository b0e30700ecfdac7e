package plan

// driftGroups warns about sources that max_drift keeps together with nobody: neither with another source, nor their own partitions with each
// other, which takes a plugin that can leave single ones alone.
func (b *builder) driftGroups() {
	members := map[string]int{}
	for _, s := range b.plan.Sources {
		if s.MaxDrift > 0 {
			members[s.DriftGroup]++
		}
	}
	for i, s := range b.plan.Sources {
		c := b.cfg.Sources[i]
		if s.MaxDrift > 0 && members[s.DriftGroup] == 1 && !s.HoldsPartitions && !b.broken[s.Name] {
			b.warn("TM3105", c.KeyPlace("time", "max_drift"), `give the sources that belong together max_drift and the same drift_group`,
				"max_drift does nothing here: no other source is in the group of %q, and the plugin %q cannot hold single partitions back", s.Name, c.Plugin)
		}
	}
}

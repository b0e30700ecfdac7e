package host

import (
	"fmt"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// clientHalves offers go-plugin all majors; the handshake chooses the highest that the plugin has, too.
func clientHalves(majors []wire.Major) map[int]goplugin.PluginSet {
	out := map[int]goplugin.PluginSet{}
	for _, m := range majors {
		out[m.Version] = goplugin.PluginSet{wire.PluginSetName: clientHalf{}}
	}
	return out
}

// majorOf is the one that was chosen, which is one of those that were offered.
func majorOf(majors []wire.Major, version int) wire.Major {
	for _, m := range majors {
		if m.Version == version {
			return m
		}
	}
	panic(fmt.Sprintf("host: version %d was chosen, and %s were offered", version, versionsText(majors)))
}

// versionHint says which side is to be upgraded to what when a plugin answers with a version that was not offered. A plugin that shares
// none with the daemon answers with one of its own.
func versionHint(majors []wire.Major, plugins int) (hint string, differs bool) {
	lowest, highest := majors[0].Version, majors[len(majors)-1].Version
	for _, m := range majors {
		if m.Version == plugins {
			return "", false
		}
	}
	switch {
	case plugins > highest:
		return fmt.Sprintf("upgrade tidemark to one that speaks version %d, or use an older version of the plugin", plugins), true
	case plugins < lowest:
		return fmt.Sprintf("upgrade the plugin: build it with an sdk that speaks version %d", highest), true
	}
	return fmt.Sprintf("upgrade the plugin: build it with an sdk that speaks version %d; version %d was withdrawn", highest, plugins), true
}

// versionsText names majors: "version 1", "versions 1 and 2".
func versionsText(majors []wire.Major) string {
	var all []string
	for _, m := range majors {
		all = append(all, fmt.Sprint(m.Version))
	}
	if len(all) == 1 {
		return "version " + all[0]
	}
	return "versions " + strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

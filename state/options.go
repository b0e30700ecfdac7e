package state

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// Options say how to open a store. The zero value is a store on the local disk with the defaults named here.
type Options struct {
	FS       vfs.FS        // default: the disk. Tests pass vfs.NewCrashableMem or a failing one
	Logger   *slog.Logger  // default: silent. The database's chatter goes out at debug level
	Cache    *pebble.Cache // shared block cache; default: an own one of CacheSize
	Clock    clock.Clock   // for Grace; default: the system's
	ReadOnly bool          // read what is there and change nothing; the directory must exist

	// MustExist refuses a directory that holds no state instead of creating it.
	MustExist bool

	// Fingerprint describes the pipeline, in bytes that only the caller reads. A store that was written with another one is given to
	// Accept, which returns nil to take it over (the new fingerprint is then stored with the caller's next commit, see
	// [Store.Fingerprint]) or an error that says what changed and what to do. Without Accept every difference is refused.
	Fingerprint []byte
	Accept      func(stored []byte) error

	CacheSize    int64  // bytes of the own block cache; default 8 MiB
	MemTableSize uint64 // bytes of a memtable, of which up to three exist; default 8 MiB

	// TableEntries and TableBytes: a commit with at least so many entries or bytes becomes an ingested table instead of a batch.
	// Defaults: 5,000 and 1 MiB (measured: see BenchmarkCommit).
	TableEntries int
	TableBytes   int

	// PaneEntries and CutBytes: what makes a pane so large that it gets tables of its own, and that these are cut out of the database when it is
	// dropped. Defaults: 4,096 and 4 MiB; the latter is an fsync and saves writing as much again.
	PaneEntries int
	CutBytes    int64

	// Lookups says that single entries are looked up, often such as are not there: tables then get filters that tell so without a read, for a
	// tenth of the work of writing one.
	Lookups bool

	// MaxSublevels and MaxDebt bound what waits to be compacted; beyond either, [Pressure.Full] is true. Reading a pane costs about one
	// more lookup per sublevel. Defaults: 20 and 2 GiB.
	MaxSublevels int
	MaxDebt      uint64

	// Grace is how long work that has begun may go on after its context has ended, before the store is given up as broken. Default 10 s.
	Grace time.Duration

	// Reserve is the free space in bytes below which commits are refused before they touch the disk. Pebble cannot go on after a
	// failed write to its log, so the last bytes are not ours to take. Default: 32 MiB, but at most an eighth of the file system.
	Reserve uint64

	// Hook is called at named places of a commit, for tests that end the process there: "commit.begin" (nothing is written), "commit.table"
	// (the table is written and synced, but not ingested) and "commit.end" (it is true, and nobody knows yet). May be nil.
	Hook func(place string)

	careless bool // tests let the database itself meet the end of the disk
}

// DefaultSublevels is the default of Options.MaxSublevels.
const DefaultSublevels = 20

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	def(&o.CacheSize, 8<<20)
	def(&o.MemTableSize, 8<<20)
	def(&o.TableEntries, 5000)
	def(&o.TableBytes, 1<<20)
	def(&o.PaneEntries, 4096)
	def(&o.CutBytes, 4<<20)
	def(&o.MaxSublevels, DefaultSublevels)
	def(&o.MaxDebt, 2<<30)
	def(&o.Reserve, 32<<20)
	def(&o.Grace, 10*time.Second)
	if o.Hook == nil {
		o.Hook = func(string) {}
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return o
}

func def[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// pebbleOptions are the database's settings for a store that is written in sorted, write-once pieces and read in ordered scans.
func (s *Store) pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		FS:                 s.fs,
		FormatMajorVersion: pebbleFormat,
		Merger:             s.folds.merger(),
		Logger:             s.log,
		EventListener:      s.events(),
		MemTableSize:       s.opts.MemTableSize,
		ReadOnly:           s.opts.ReadOnly,
		CacheSize:          s.opts.CacheSize,
		Cache:              s.opts.Cache,
		MaxOpenFiles:       500,
		// Ingested tables pile up in level 0 beyond any limit that the database knows, and a batch must not be made to wait for
		// them: Pressure is the brake for both ways.
		L0StopWritesThreshold: 1000,
		LBaseMaxBytes:         64 << 20,
		// Most of what is written is dead after a few commits: delivered results, windows that have fired. What is compacted late
		// is mostly not compacted at all.
		L0CompactionThreshold: 16,
		// Stalls of small commits would otherwise follow each flush.
		MemTableStopWritesThreshold: 3,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
	}
	// Fewer, larger files: entries are written once and dropped in runs.
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = min(int64(4<<20)<<i, 64<<20)
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = 16 << 10
		o.Levels[i].IndexBlockSize = 64 << 10
	}
	// New tables hold what will soon be read once and dropped. To compress and decompress it took a third of a stateless pipeline's time.
	last := len(o.Levels) - 1
	for i := range last {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	o.Levels[last].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression } // what stays stays here
	if s.opts.Lookups {
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
	}
	o.EnsureDefaults()
	return o
}

// pebbleFormat is part of our format version: raising it is a new version.
const pebbleFormat = pebble.FormatTableFormatV6

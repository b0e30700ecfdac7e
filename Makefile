# `make` lists the targets.

GO ?= go
PKG := ./...

# Nothing of ours needs C. Without it the compression library of the store comes as Go, which builds in half the time, and the program is static.
export CGO_ENABLED ?= 0

.PHONY: help
help: ## show this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/tidemark
	$(GO) build -o bin/tidemark ./cmd/tidemark

.PHONY: run
run: ## the quick start: a generated stream, counted and summed in 5 s event-time windows
	$(GO) run ./cmd/tidemark run examples/quickstart/pipeline.toml

.PHONY: test
test: ## every test, from a clean clone
	$(GO) test -timeout 20m $(PKG)

.PHONY: race
race: ## the tests of the packages with goroutines, under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m ./daemon/... ./sdk/... ./state/... ./plugins/...

.PHONY: lint
lint: ## gofmt, go vet, staticcheck (pinned in go.mod)
	@bad=$$(git ls-files '*.go' | xargs gofmt -l); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet $(PKG)
	$(GO) tool staticcheck $(PKG)

.PHONY: vuln
vuln: ## known vulnerabilities of what the binary links; says so and passes where the database cannot be reached
	@out=$$($(GO) tool govulncheck ./cmd/... 2>&1); code=$$?; echo "$$out"; \
	if [ $$code -ne 0 ] && echo "$$out" | grep -q -e 'no such host' -e 'dial tcp' -e 'fetching vulnerabilities' -e 'Forbidden' -e 'proxyconnect'; then \
	  echo "govulncheck: the database is out of reach, nothing was checked"; exit 0; fi; exit $$code

.PHONY: bench
bench: ## the benchmarks beside the code
	$(GO) test -run '^$$' -bench . -benchmem $(PKG)

.PHONY: bench-compare
bench-compare: ## benchmarks of BASE=<rev> against the working tree, by benchstat
	.ci/bench-compare $(BASE)

.PHONY: bench-peers
bench-peers: ## Flink and Benthos on the same input, in turn (needs a JDK and Maven; COUNT=1000000 PEERS=benthos-struct …: .bench/peers/README.md)
	.bench/peers/run

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (default 1m)
	.ci/fuzz $(or $(FUZZTIME),1m)

.PHONY: crash
crash: ## kill the program KILLS times (default 1000), and at every failpoint; SEED=n repeats a run
	CRASH_KILLS=$(or $(KILLS),1000) CRASH_SEED=$(SEED) $(GO) test -timeout 6h -count 1 -v -run '^TestCrash|^TestFailpoints' ./cmd/tidemark

.PHONY: soak-file
soak-file: ## a file of MB (default 2000) with one bad record in ten thousand: each accounted for, with flat memory
	SOAK_FILE_MB=$(or $(MB),2000) $(GO) test -timeout 1h -count 1 -v -run '^TestSoakFile$$' ./cmd/tidemark

.PHONY: big
big: ## KEYS keys (default 20000000) in one open window, with 1 GiB of memory: killed twice, and every key's totals compared
	BIG_KEYS=$(or $(KEYS),20000000) $(GO) test -timeout 6h -count 1 -v -run '^TestBig$$' ./cmd/tidemark

.PHONY: check
check: lint test ## what to run before a commit

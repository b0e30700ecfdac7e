#!/bin/sh
# Writes the generated Go code anew. It needs a protoc in PATH, or Python with grpcio-tools (PROTOC="python3 -m grpc_tools.protoc").
# The two Go generators are tools of the module and need not be installed.
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH="$bin:$PATH" ${PROTOC:-protoc} --proto_path=. \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative \
	tidemark/plugin/v1/batch.proto tidemark/plugin/v1/plugin.proto

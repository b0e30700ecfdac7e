#!/bin/sh
# Writes the generated code in tidemark/plugin/v1 anew, from the protocol's definition in sdk/proto. It needs the version of grpcio-tools that
# fits requirements.txt: pip install grpcio-tools==1.85.1
set -eu
cd "$(dirname "$0")"
rm -rf tidemark
${PYTHON:-python3} -m grpc_tools.protoc --proto_path=../../sdk/proto --python_out=. --grpc_python_out=. \
	tidemark/plugin/v1/batch.proto tidemark/plugin/v1/plugin.proto
rm tidemark/plugin/v1/batch_pb2_grpc.py # it has no services

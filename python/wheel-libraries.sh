#!/bin/sh
# What building a wheel needs inside a manylinux_2_28 image (cibuildwheel's before-all): the libraries of
# scripts/packages-build.txt under the names of RHEL 8 and EPEL, and the ONNX schema, which PyPI's onnx carries.
set -eu
dnf install -y epel-release dnf-plugins-core
dnf config-manager --set-enabled powertools
dnf install -y libxml2-devel protobuf-c-devel protobuf-c-compiler coin-or-Cbc-devel
folder=$(mktemp -d)
python3.11 -m pip download -q --no-deps --only-binary :all: -d "$folder" onnx
mkdir -p /usr/include/onnx
python3.11 -m zipfile -e "$folder"/onnx-*.whl "$folder/onnx"
cp "$folder/onnx/onnx/onnx.proto" /usr/include/onnx/
rm -r "$folder"

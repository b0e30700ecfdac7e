//go:build mips || mips64 || ppc64 || s390x

package wire

// The wire's vectors are little endian and are used in place: this package does not work on big-endian machines.
const _ = uint(-1) * bigEndianMachinesAreNotSupported

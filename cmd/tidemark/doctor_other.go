//go:build !unix

package main

// limits has nothing to look at here.
func (d *doctor) limits() {}

// Package scaffold writes the beginnings of a plugin: a Go module that builds, whose tests are green and that runs in a pipeline at once,
// for `tidemark plugins new`.
//
// What it writes are the files of templates/: those of the kind (and, for assigners, of the style), and for what they lack those of
// templates/common. The module takes the sdk from a checkout of Tidemark, through a replace line and with the checkout's own versions of
// everything else, so that nothing has to be fetched; or from a released version.
package scaffold

// Package procstat says what processes use: the own one from inside ([Self]), and another one with all its children from outside
// ([Watch]).
//
// From inside it knows the processor time, the peak of the resident memory, allocations, and the garbage collector's share. From outside
// it looks every few milliseconds at the peaks that the system keeps, so a peak is missed only when its process ends before the next look;
// and a few times a second it adds up the memory of all of them, where shared pages count once. That works on Linux, elsewhere the figures are 0.
package procstat

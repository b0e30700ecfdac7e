package main

var socketTrials = []trialCase{}

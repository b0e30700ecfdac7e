package main

var formatTrials = []trialCase{}

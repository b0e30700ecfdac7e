package main

var serviceTrials = []trialCase{}

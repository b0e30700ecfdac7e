package main

var pluginTrials = []trialCase{}

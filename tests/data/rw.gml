Creator "a generator"
Version 1
# the shape of the rw workloads
graph [
  directed 1
  node [
    id 0
    label "0"
    parameter 2676
  ]
  node [
    id 7
    label "7"
    parameter 0
  ]
  node [
    id 3
    label "3"
    parameter 12
  ]
  edge [
    source 0
    target 7
    name "0"
    parameter 20243
  ]
  edge [
    source 7
    target 3
    name "1"
    parameter 0
  ]
]

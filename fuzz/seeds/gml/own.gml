graph [
  directed 1
  name "own &amp; others"
  resource [ name "mul" capacity 2 ]
  resource [ name "add" ]
  edge [ source 5 target 9 bytes 16 ]
  edge [ source 9 target 5 lag -1 distance 2 ]
  node [
    id 5
    label "caf&#233; &quot;x&quot; &unknown; &#xe9;"
    type "Mul"
    duration 2.5
    memory 64
    weight 3
    demand [ resource "mul" amount 2 ]
    demand [ resource "add" ]
    graphics [ x 1.0 y 2.0 Line [ point [ x 0 y 1 ] ] ]
  ]
  node [ id 9 ]
]

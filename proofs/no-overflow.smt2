; Nothing that timing.c forms on the way leaves 64 bits, and its assertion cannot fire: for every rate allowed, stretching
; up to an hour of TTL, and shrinking any duration at all.
; tools/prove: definitions
(set-logic QF_NIA)
(declare-const rate Int)
(declare-const span Int)
(declare-const numerator Int)
(declare-const denominator Int)
(assert (and (<= rate-min rate) (<= rate rate-max)))
(assert (<= 0 span))
(define-fun whole () Int (div span denominator))
(define-fun rest () Int (* (mod span denominator) numerator))
(define-fun asserted () Bool (<= whole (div (- int64-max (* 2 numerator)) numerator)))
(define-fun stretching () Bool (and (= numerator (+ ppm rate)) (= denominator (- ppm rate))))
(define-fun shrinking () Bool (and (= numerator (- ppm rate)) (= denominator (+ ppm rate))))

; Instances of product-order.smt2: with numerator, and with whole, which the rates bound.
(assert (=> (<= whole 4000000) (<= (* whole numerator) (* 4000000 numerator))))
(assert (=> (and shrinking (< 4000000 whole)) (<= (* 4000000 (* 2 rate)) (* whole (* 2 rate)))))

; Claim.
(push 1)
(assert (or (and stretching (<= span ttl-max)) (and shrinking (<= span int64-max))))
(assert (not (and asserted (<= 0 rest) (<= rest int64-max)
                  (<= (+ (* whole numerator) (div rest denominator) 1) int64-max))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the product formed at once, span * numerator.
(push 1)
(assert (and shrinking (<= span int64-max)))
(assert (not (<= (* span numerator) int64-max)))
(set-info :status sat)
(check-sat)
(pop 1)

; L1 and the client's authority: lh_timing_shrink, as timing.c computes it, gives the greatest number of nanoseconds that
; has surely not passed: shrunk (1 + rho) <= span (1 - rho).
; tools/prove: definitions
(set-logic QF_NIA)
(declare-const rate Int)
(declare-const span Int)
(assert (and (<= rate-min rate) (<= rate rate-max)))
(assert (and (<= 0 span) (<= span int64-max)))
(define-fun fast () Int (* span (- ppm rate)))

; Claim.
(push 1)
(assert (not (and (<= (* (shrink rate span) (+ ppm rate)) fast)
                  (> (* (+ (shrink rate span) 1) (+ ppm rate)) fast))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: rounded up.
(push 1)
(assert (not (<= (* (+ (shrink rate span) 1) (+ ppm rate)) fast)))
(set-info :status sat)
(check-sat)
(pop 1)

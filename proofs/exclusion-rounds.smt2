; T2, T3: lh_timing_exclusion and lh_timing_quarantine, as timing.c computes them, give the least number of nanoseconds
; that satisfies D_P (1 + rho) <= D_A (1 - rho).
; tools/prove: definitions
(set-logic QF_NIA)
(declare-const rate Int)
(declare-const ttl Int)
(assert (and (<= rate-min rate) (<= rate rate-max)))
(assert (and (<= 0 ttl) (<= ttl ttl-max)))
(define-fun slow () Int (* ttl (+ ppm rate)))

; Claim.
(push 1)
(assert (not (and (<= slow (* (stretch rate ttl) (- ppm rate)))
                  (> slow (* (- (stretch rate ttl) 1) (- ppm rate))))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: rounded down.
(push 1)
(assert (not (<= slow (* (scale ttl (+ ppm rate) (- ppm rate)) (- ppm rate)))))
(set-info :status sat)
(check-sat)
(pop 1)

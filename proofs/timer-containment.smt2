; TimerContainmentArithmetic (Appendix A.3; T2, in one time): an owner whose timer starts no later than an acceptor's, and
; lasts no longer, is contained in what that acceptor excludes.
(set-logic QF_LRA)
(declare-const prepared Real) ; when Prepare was sent: td counts from here (T1)
(declare-const accepted Real) ; when the acceptor recorded the lease
(declare-const d_p Real)
(declare-const d_a Real)
(assert (and (>= prepared 0) (> d_p 0)))

; Claim.
(push 1)
(assert (<= prepared accepted))
(assert (<= d_p d_a))
(assert (not (<= (+ prepared d_p) (+ accepted d_a))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the owner's timer may start later, when the promises have come (late-timer).
(push 1)
(assert (<= d_p d_a))
(assert (not (<= (+ prepared d_p) (+ accepted d_a))))
(set-info :status sat)
(check-sat)
(pop 1)

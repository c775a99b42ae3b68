; QuarantineCoversForgottenFacts (Appendix A.3; T3, in one time): whatever an acceptor can forget, a promise or a record,
; belongs to an attempt whose Prepare left before the crash. With Q >= D_P it is over when the acceptor answers again. D_A
; does not occur.
(set-logic QF_LRA)
(declare-const prepared Real)
(declare-const promised Real) ; when the forgotten promise was made
(declare-const recorded Real) ; when the forgotten record was
(declare-const crashed Real)
(declare-const restarted Real)
(declare-const d_p Real)
(declare-const q Real)
(define-fun attempt-ends () Real (+ prepared d_p))     ; T1
(define-fun answers-again () Real (+ restarted q))     ; A4
(assert (and (>= prepared 0) (> d_p 0) (>= q 0)))
(assert (and (<= prepared promised) (<= promised recorded) (<= recorded crashed) (<= crashed restarted)))

; Claim.
(push 1)
(assert (>= q d_p))
(assert (not (<= attempt-ends answers-again)))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: a quarantine that may be shorter by anything.
(push 1)
(declare-const missing Real)
(assert (> missing 0))
(assert (>= q (- d_p missing)))
(assert (not (<= attempt-ends answers-again)))
(set-info :status sat)
(check-sat)
(pop 1)
